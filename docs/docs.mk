# SPDX-License-Identifier: GPL-2.0-or-later
# The drawings of docs/architecture.md.

##  docs            draw the rooms of the agent in docs/ from the includes
.PHONY: docs
docs docs/rooms.svg: FORCE
	@packaging/deps -n docs
	$(call say,GEN,docs/rooms.svg)
	$(Q)docs/draw update
