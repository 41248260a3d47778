# SPDX-License-Identifier: GPL-2.0-or-later
# For the Makefile of each directory of tests, as kselftest's lib.mk:
#   TEST_PROGS            the tests, each a program
#   TEST_PROGS_EXTENDED   those that run only when they are named
#   TEST_GEN_PROGS        tests that are built, by the rules of selftests.mk
#   TEST_GEN_FILES        what is built for the tests of this directory
#   TEST_NEEDS            targets of the top Makefile that they need
# all builds, run_tests runs; O is the build directory, from the top of the tree.
top := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))..)
dir := $(patsubst $(top)/selftests/%,%,$(CURDIR))
O   ?= build

.DEFAULT_GOAL := all
.PHONY: all run_tests needs list list-extended
goals := $(TEST_NEEDS) $(addprefix $(O)/selftests/$(dir)/,$(TEST_GEN_PROGS) $(TEST_GEN_FILES))

all:
	+$(if $(goals),$(MAKE) --no-print-directory -C $(top) O=$(O) $(goals),@:)

run_tests: all
	EHS_BUILD=$(O) $(top)/selftests/run $(dir)

# what selftests/Makefile and selftests/run ask
needs:
	@echo $(goals)
list:
	@echo $(TEST_PROGS) $(TEST_GEN_PROGS)
list-extended:
	@echo $(TEST_PROGS_EXTENDED)
