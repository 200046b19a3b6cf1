"""Small programming tasks over exstruct workbooks and ordinary files, whose answers are checked by running them.

They stand for the tasks that the paper had a model write (section 3); here each is put together from parts, so that
right answers are known without running anything (our reconstruction).
"""

from sm_ops.data.tasks.answered import answered as answered
from sm_ops.data.tasks.composing import FAMILIES as FAMILIES
from sm_ops.data.tasks.drawing import pool as pool
from sm_ops.data.tasks.task import Task as Task
from sm_ops.data.tasks.task import check_library as check_library
from sm_ops.data.tasks.task import normalised as normalised
