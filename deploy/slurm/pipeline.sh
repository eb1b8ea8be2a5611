#!/bin/bash
#SBATCH --job-name=plumbline
#SBATCH --output=plumbline-%j.log
#SBATCH --time=1-00:00:00
#SBATCH --cpus-per-task=8
#SBATCH --mem=32G
# The pipeline on the commit that `plumbline run --submit` names, in a clone of its own: PLUMBLINE_SUBMIT="sbatch deploy/slurm/pipeline.sh".
# The folder of the submission is on a disk that the nodes share; so is $PLUMBLINE_JOBS, in which the clones are.
set -euo pipefail

clone=${PLUMBLINE_JOBS:-$HOME/plumbline-jobs}/$SLURM_JOB_ID
if [ ! -e "$clone" ]; then # SLURM starts a job again whose node failed: it continues in its clone
  rm -rf "$clone.part"
  git clone --quiet "$SLURM_SUBMIT_DIR" "$clone.part"
  mv "$clone.part" "$clone"
fi
cd "$clone"
git checkout --quiet --detach "$PLUMBLINE_COMMIT"

make setup
.venv/bin/plumbline champion --pin
if [ -n "${DVC_REMOTE:-}" ]; then make remote; fi
code=0
make fresh PULL=--pull || code=$?
if [ -n "${DVC_REMOTE:-}" ]; then .venv/bin/dvc push --quiet --run-cache; fi
exit "$code"
