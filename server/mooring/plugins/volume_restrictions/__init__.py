"""VolumeRestrictions: keeps pods off nodes where a disk they want is taken."""
