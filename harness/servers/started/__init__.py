"""Scripts that run in the environments of servers, each started by harness/servers/launch.py."""
