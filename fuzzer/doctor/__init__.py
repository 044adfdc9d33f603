"""Try out what a campaign needs of this machine."""
