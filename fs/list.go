package fs

// list is a doubly linked list of nodes, most recently used first. It is part
// of the nodes themselves, so that moving one allocates nothing.
type list struct {
	head, tail *node
	len        int
}

func (l *list) pushFront(n *node) {
	n.inList = true
	n.prev, n.next = nil, l.head
	if l.head != nil {
		l.head.prev = n
	} else {
		l.tail = n
	}
	l.head = n
	l.len++
}

// remove takes a node out; one that is not in does not matter.
func (l *list) remove(n *node) {
	if !n.inList {
		return
	}
	n.inList = false
	if n.prev != nil {
		n.prev.next = n.next
	} else {
		l.head = n.next
	}
	if n.next != nil {
		n.next.prev = n.prev
	} else {
		l.tail = n.prev
	}
	n.prev, n.next = nil, nil
	l.len--
}
