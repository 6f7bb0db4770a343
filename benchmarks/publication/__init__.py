"""Publishing what votes did cost."""
