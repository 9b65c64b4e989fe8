# Appends one line to the external log `$OUTSIDE` each time it is run, then does what its arguments say.
ulimit -S -f unlimited
echo "$HANDRAIL_KEY $HANDRAIL_STEP" >> "$OUTSIDE"
case "$1" in
say) echo "$2" ;;
long) printf '%09000d\n' "$2" ;;
write) echo "$3" > "$2" ;;
third) test "$(grep -c " $HANDRAIL_STEP\$" "$OUTSIDE")" -ge 3 ;;
orphan) # its driver is dead before it has done anything else
    kill -9 "$PPID"
    echo "$$" > "$BEGUN"
    read -r _ < "$GATE"
    echo "$HANDRAIL_KEY $HANDRAIL_STEP ended" >> "$OUTSIDE"
    ;;
linger) # with a child of its own; says which processes they are, then stays until a line comes through the gate
    sleep 600 < /dev/null > /dev/null 2>&1 &
    echo "$$ $!" > "$BEGUN"
    read -r _ < "$GATE"
    kill "$!"
    echo "$HANDRAIL_KEY $HANDRAIL_STEP ended" >> "$OUTSIDE"
    ;;
esac
