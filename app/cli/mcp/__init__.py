"""The Model Context Protocol: Hookline's requests and deliveries as tools of an agent."""
