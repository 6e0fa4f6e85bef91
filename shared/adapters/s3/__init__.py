"""The bucket of uploads and exports."""
