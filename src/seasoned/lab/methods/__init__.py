"""Methods to compare with: AutoGuide, TeachMe, lessons from a file, and insights adapted to another benchmark."""
