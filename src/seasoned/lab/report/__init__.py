"""Reports: statistics, tables and plots of what a run found."""
