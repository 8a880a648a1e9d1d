"""Local suppression: single cells become null, as few as can be found."""
