"""The agents: they make attempts. An agent knows no method; guidance reaches it as a value."""
