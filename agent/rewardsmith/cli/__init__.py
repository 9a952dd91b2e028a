"""The command line: the only part of rewardsmith that prints."""
