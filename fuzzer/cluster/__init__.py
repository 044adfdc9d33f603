"""Who does a campaign's work: isolated processes of this machine, or workers of a Dask cluster."""
