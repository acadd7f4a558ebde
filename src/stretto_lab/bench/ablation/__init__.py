"""What each part of the engine contributes: measured with the part switched off."""
