"""NodeVolumeLimits: no more volumes of a CSI driver on a node than the driver can attach."""
