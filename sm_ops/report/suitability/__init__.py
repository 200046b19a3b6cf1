"""The suitability page: how well scores separate in each setting that a home's runs measured (paper, section 5)."""
