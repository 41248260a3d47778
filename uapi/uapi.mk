# SPDX-License-Identifier: GPL-2.0-or-later
# What is generated from uapi/ehsched.yaml and kept in the tree.

##  netlink         uapi/linux/ehsched.h and kmod/netlink_gen.[ch], after a change of uapi/ehsched.yaml
.PHONY: netlink
netlink:
	@packaging/deps -n netlink
	$(call say,GEN,uapi/linux/ehsched.h kmod/netlink_gen.h kmod/netlink_gen.c)
	$(Q)uapi/generate
