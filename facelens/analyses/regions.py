"""Regions: which part of the face a patch lies on, so that the cost of a match can be told by eyes, nose and mouth.

Computes    share of each region in a cell: of a fine raster of points inside the cell, those nearest to the region by
            the landmarks (five points, or where the aligned face has them); shares of a cell add up to 1
            ledger: sum over the query's patches i of share_i,r sum_j F_ij D_ij; adds up to the EMD
Shapes      shares (P, R), R = len(REGIONS); ledger (R,)
Reference   none
Departs     none
"""

from __future__ import annotations

REGIONS = ("forehead", "eyes", "nose", "cheeks", "mouth", "outside")
