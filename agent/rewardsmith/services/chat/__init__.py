"""Calls to language models: clients, retries, prices, recordings."""
