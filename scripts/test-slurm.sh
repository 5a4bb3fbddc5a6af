#!/usr/bin/env bash
# The array job of docs/rows.md on a Slurm of this machine's own, from Debian's packages: a controller, a node and their keys under target/, on loopback only.
# The merged model is the one of one process, byte for byte, also where a part was lost and submitted again. Installs what it needs, or says why it skips.
set -euo pipefail
cd "$(dirname "$0")/.."

skip() { echo "skipped: $1"; exit 0; }
if ! command -v slurmctld slurmd munged > /dev/null; then
    { command -v apt-get > /dev/null && [[ "$(id -u)" == 0 ]]; } || skip "there is no Slurm, and it can be installed by root from Debian's packages only (slurm-wlm munge)"
    apt-get install -qq -y --no-install-recommends slurm-wlm munge > /dev/null || skip "the packages slurm-wlm and munge could not be installed"
fi
sigmabar="${SIGMABAR:-$PWD/target/debug/sigmabar}"
[[ -x "$sigmabar" ]] || cargo build --quiet --workspace --lib --bins --tests

work="$PWD/target/slurm"
rm -rf "$work"
mkdir -p "$work"/{state,spool,bin,job}
ln -s "$sigmabar" "$work/bin/sigmabar"
host=$(hostname -s)
cat > "$work/slurm.conf" <<CONF
ClusterName=here
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=16817
SlurmdPort=16818
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$work/munge.socket
CredType=cred/munge
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
head -c 1024 /dev/urandom > "$work/munge.key"
chmod 600 "$work/munge.key"

export SLURM_CONF="$work/slurm.conf"
daemons=()
trap 'kill "${daemons[@]}" 2> /dev/null || true; wait 2> /dev/null || true' EXIT
munged --foreground --force --key-file="$work/munge.key" --socket="$work/munge.socket" --pid-file="$work/munge.pid" --log-file="$work/munge.log" \
    --seed-file="$work/munge.seed" 2> /dev/null & daemons+=($!)
until [[ -S "$work/munge.socket" ]]; do sleep 0.1; kill -0 "${daemons[0]}" 2> /dev/null || skip "munged does not start here: $(tail -1 "$work/munge.log")"; done
slurmctld -D -f "$SLURM_CONF" > /dev/null 2>&1 & daemons+=($!)
slurmd -D -f "$SLURM_CONF" -N "$host" > /dev/null 2>&1 & daemons+=($!)
for _ in $(seq 100); do [[ "$(sinfo -h -o %T 2> /dev/null)" == idle ]] && break; sleep 0.3; done
[[ "$(sinfo -h -o %T 2> /dev/null)" == idle ]] || skip "no node of Slurm came up: $(tail -1 "$work/slurmd.log")"

cd "$work/job"
export PATH="$work/bin:$PATH"
awk 'BEGIN { srand(1); for (f = 1; f <= 16; f++) { name = sprintf("part-%02d.csv", f); print "a,b,y" > name
    for (i = 0; i < 500; i++) { a = rand(); b = rand(); print a "," b "," 5 + sin(4 * a) + b + 0.1 * (rand() - 0.5) > name } } }'
given=(--target y --kernel matern-2.5 --lengthscale 0.5 --tau 0.1 --inducing 40 --prior-mean 5.5 --norm-bound 20 --noise gaussian:0.1 --collected fixed)
sigmabar -q fit 'part-*.csv' "${given[@]}" --stream --holdout 0 -o one.sbm > /dev/null
sigmabar -q plan 'part-*.csv' "${given[@]}" -o plan.sbp > /dev/null
# The script is the one that the book shows.
sed -n '/^    #!\/bin\/bash/,/^$/s/^    //p' ../../../docs/rows.md > fit.sh

say() { echo "$ $*"; "$@"; }
say sbatch --wait fit.sh
say sbatch --wait --wrap "sigmabar merge 'sums-*.sba' -o model.sbm"
cmp one.sbm model.sbm
rm sums-3.sba
if sigmabar -q merge 'sums-*.sba' -o other.sbm 2> refusal; then echo "a missing part was not noticed"; exit 1; fi
say cat refusal
say sbatch --wait --array=3 fit.sh
say sigmabar -q merge 'sums-*.sba' -o again.sbm > /dev/null
cmp one.sbm again.sbm
echo "Slurm $(sinfo -V | cut -d' ' -f2): $(ls sums-*.sba | wc -l) parts make the model of one process, byte for byte"
