"""The record of the task: plumbline's text classification, whose parts are those in this folder."""

from dataclasses import replace

from plumbline.tasks.text_classification import task as text_classification

TASK = replace(text_classification.TASK, name="own_task", package="tasks.own_task")
