"""Code quirks: changes of a program's form that leave what it does as it is (paper, A.2 and table 2)."""
