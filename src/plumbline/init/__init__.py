"""`plumbline init`: a repository of one's own around a file of data.

repository_files   the files that plumbline carries for it, in a wheel or in a source checkout
differences        how they differ in a user's repository
wheel              plumbline's own wheel, which that repository installs
survey             what the columns of a file hold
proposal           params.yaml that fits what was seen
creation           all of it, written as a whole or not at all
"""
