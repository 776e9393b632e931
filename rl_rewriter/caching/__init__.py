"""Memory of what was computed for earlier requests: bounded, forgetful, never computed twice."""
