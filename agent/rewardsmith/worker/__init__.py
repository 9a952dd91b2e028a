"""What runs in other processes: the fork server, the reward process and the trainer."""
