"""Language models: any OpenAI-compatible server, the bundled local model, and a scripted one for tests and examples."""
