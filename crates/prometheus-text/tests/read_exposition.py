"""Reads an exposition with the Python client's parser and prints every sample, fields in hexadecimal.

Usage: read_exposition.py prometheus|openmetrics FILE
A line per sample: type of the family, sample name, labels as name=value pairs sorted by name, value.
A line per family: the word "documented", name, help, unit as it stands.
"""

import sys

from prometheus_client import openmetrics, parser
import prometheus_client.openmetrics.parser


def hexadecimal(text):
    return text.encode("utf-8").hex()


def main(form, path):
    parse = {
        "prometheus": parser.text_string_to_metric_families,
        "openmetrics": openmetrics.parser.text_string_to_metric_families,
    }[form]
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    for family in parse(text):
        for sample in family.samples:
            labels = ",".join(
                hexadecimal(name) + "=" + hexadecimal(value) for name, value in sorted(sample.labels.items())
            )
            print(family.type, hexadecimal(sample.name), labels or "-", repr(float(sample.value)))
        print("documented", hexadecimal(family.name), hexadecimal(family.documentation) or "-", family.unit or "-")


if __name__ == "__main__":
    main(*sys.argv[1:])
