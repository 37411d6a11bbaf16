"""The command about test vectors."""
