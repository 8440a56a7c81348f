#!/bin/bash
# The roofline lesson: what it says, its picture and its JSON, and what it refuses.
#   lesson_11_test.sh PROGRAM
. bazel/testing/cases.sh

program=$PWD/$1
cd "$TEST_TMPDIR" || exit 1

ends_with 0 "the lesson" "$program" --picture=roofline.svg --json=roofline.json --gflops=100 --gigabytes=10 \
  --lowering=lowering
check "how long the nests of three networks take, both ways" [ "$(grep -c '"seconds":\[' lowering)" -eq 6 ]
says "operator by operator and fused give the definition's numbers" \
  "roof: 100.0 GF/s, 10.0 GB/s: memory is the limit below 10.0 operations a byte" \
  "roofline.svg: written" "roofline.json: written"
check "fusion moves each network to the right, and changes none of its operations" \
  /usr/bin/python3 -I -c '
import json
points = json.load(open("roofline.json"))["points"]
assert [p["network"] for p in points[::2]] == ["ResNet block", "BERT FFN", "MLP"]
for unfused, fused in zip(points[::2], points[1::2]):
    assert (unfused["variant"], fused["variant"]) == ("unfused", "fused")
    assert unfused["operations"] == fused["operations"]
    assert fused["bytes"] < unfused["bytes"], fused
    assert fused["intensity"] == fused["operations"] / fused["bytes"]
'
check "the picture is an SVG with all three" \
  /usr/bin/python3 -I -c '
import xml.etree.ElementTree as tree
texts = [e.text for e in tree.parse("roofline.svg").iter() if e.text]
for network in ["ResNet block", "BERT FFN", "MLP"]:
    assert network + ", fused" in texts and network + ", unfused" in texts, texts
'
ends_with 0 "--help" "$program" --help
says "bazelw run //examples/lesson_11_roofline"
ends_with 105 "a bandwidth of nothing" "$program" --gigabytes=0
ends_with 1 "nowhere to write" "$program" --picture=/no/such/folder/x.svg
check "nowhere to write: that alone, before the work" \
  [ "$(cat "$said")" = "error: cannot write file /no/such/folder/x.svg: No such file or directory" ]
