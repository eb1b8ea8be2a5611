"""`plumbline init`: a repository of one's own around a file of data; `upgrade`: a later version.

repository_files   the files that plumbline carries for it, in a wheel or in a source checkout
differences        how they differ in a user's repository
wheel              plumbline's own wheel, which that repository installs
columns            the columns of a file, and which can be the text and which the label
separators         whether cells of a column hold several labels
survey             what the chosen columns hold
answers            what was named and seen, written down for the next version
proposal           params.yaml that fits the answers
rendering          all files but the data
git                git, in the repository that is made
creation           all of it, written as a whole or not at all
upgrade            what another version writes otherwise, merged by `git merge-file`
"""
