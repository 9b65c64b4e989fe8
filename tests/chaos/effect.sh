# One outside effect, counted outside of Handrail: a line before it, some time, a line after it, and a JSON value.
# usage: effect.sh SECONDS FAILURES VALUE
ulimit -S -f unlimited
tried=$(grep -c "^begin $HANDRAIL_STEP\$" "$CHAOS_LOG" 2>/dev/null)
echo "begin $HANDRAIL_STEP" >> "$CHAOS_LOG"
[ "${tried:-0}" -ge "$2" ] || { echo "not yet"; exit 1; }
sleep "$1"
echo "done $HANDRAIL_STEP $3" >> "$CHAOS_LOG"
printf '{"v": "%s"}\n' "$3"
