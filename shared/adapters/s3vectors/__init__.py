"""The knowledge base's index on Amazon S3 Vectors."""
