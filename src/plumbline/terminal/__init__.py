"""What each command uses: where it prints, the options that several take, how it is added."""
