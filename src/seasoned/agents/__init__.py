"""The agents: they make attempts. An agent does not know about methods; it gets guidance as a value."""
