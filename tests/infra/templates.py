"""Reading CloudFormation templates by what they mean."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.stages import Stage

Template = Mapping[str, Any]


@dataclass(frozen=True)
class Synthesised:
    """The templates of one stage."""

    stage: Stage
    folder: Path
    data: Template
    service: Template

    @property
    def functions(self) -> dict[str, dict[str, Any]]:
        """The properties of each function, by its package's name."""
        return {
            properties["Handler"].split(".")[1]: properties
            for properties in properties_of(self.service, "AWS::Lambda::Function")
        }


def resources_of(template: Template, kind: str) -> dict[str, dict[str, Any]]:
    """The resources of one type, by their name in the template."""
    return {name: resource for name, resource in template["Resources"].items() if resource["Type"] == kind}


def properties_of(template: Template, kind: str) -> list[dict[str, Any]]:
    return [resource.get("Properties", {}) for resource in resources_of(template, kind).values()]


def only(items: list[Any]) -> Any:
    assert len(items) == 1, items
    return items[0]


def text_of(value: Any) -> str:
    """Write a value with its references as ``<name>``, so that it can be compared and read."""
    match value:
        case str():
            return value
        case {"Ref": name}:
            return f"<{name}>"
        case {"Fn::GetAtt": [name, attribute]}:
            return f"<{_short(name)}.{attribute}>"
        case {"Fn::GetStackOutput": {"OutputName": name}}:
            return f"<{_short(name)}>"
        case {"Fn::ImportValue": name}:
            return f"<{_short(text_of(name))}>"
        case {"Fn::Join": [separator, parts]}:
            return separator.join(text_of(part) for part in parts)
        case _:
            raise AssertionError(f"no text for {value!r}")


def _short(name: str) -> str:
    """Drop what CDK puts around a construct's name: where it is exported, and the hash at its end."""
    name = re.sub(r"^.*Output(FnGetAtt|Ref)", "", name)
    return re.sub(r"[0-9A-F]{8}", "", name)


def statements_of(template: Template, role_ref: str) -> Iterator[dict[str, Any]]:
    """The policy statements of a role, by the role's name in the template."""
    role = template["Resources"][role_ref]["Properties"]
    assert not role.get("ManagedPolicyArns"), "a function's role has no managed policy"
    for policy in role.get("Policies", []):
        yield from policy["PolicyDocument"]["Statement"]
    for policy in properties_of(template, "AWS::IAM::Policy"):
        if {"Ref": role_ref} in policy["Roles"]:
            yield from policy["PolicyDocument"]["Statement"]


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
