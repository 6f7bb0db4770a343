"""What a vote among parties takes: seconds, bytes and messages."""
