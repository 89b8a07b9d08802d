#!/usr/bin/env python3
"""Writes the template cases of the tests: snippets and chat templates of our own, with the answers of jinja2.

  make_template_cases.py [tests/cases/template/cases.json]
  make_template_cases.py --seeds      writes the seeds of the fuzz target instead

Run it with a Python that has `transformers` and `jinja2`: the environment is the one in which transformers
renders chat templates. A case is [name of the context, source, answer]; the answer is the text, null where
the reference refuses, or {"error": sentence} where the template itself refuses.
"""

import copy
import json
import sys
import warnings
from datetime import datetime
from pathlib import Path

warnings.filterwarnings("ignore")

NOW = "2025-07-04T09:08:07"

CONTEXTS = {
    "values": {
        "d": {"a": 1, "b": [2, "it's"], "c": {"x": None, "y": 1.5}, "items": "I"},
        "l": [3, 1, 2],
        "ls": ["b", "A", "c \u00e9", "<x>"],
        "s": "Hello w\u00f6rld \U0001f600",
        "e": "",
        "z": 0,
        "i": -7,
        "f": 2.5,
        "n": None,
        "t": True,
        "big": 123456789012345678901234567890,
        "m": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": None, "k": [1]},
            {"role": "user", "content": "\u00dcber\n x", "t": 2},
        ],
    },
    "chat": {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "  What is 2 + 2? <b>&</b> \U0001f600\n"},
            {"role": "assistant", "content": "4"},
            {"role": "user", "content": "Thanks"},
        ],
        "add_generation_prompt": True,
        "bos_token": "<s>",
        "eos_token": "</s>",
        "tools": None,
    },
    "tools": {
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Weather in K\u00f6ln?"}]},
            {
                "role": "assistant",
                "content": "",
                "reasoning_content": "I need the tool.",
                "tool_calls": [
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {
                            "name": "get_weather",
                            "arguments": {"city": "K\u00f6ln", "days": 3, "at": [1.0, None, True]},
                        },
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "call_1", "content": '{"sky": "clear"}'},
        ],
        "add_generation_prompt": True,
        "bos_token": "<s>",
        "eos_token": "</s>",
        "enable_thinking": False,
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "get_weather",
                    "description": "Weather <of> a city",
                    "parameters": {
                        "type": "object",
                        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
                        "required": ["city"],
                    },
                },
            }
        ],
    },
    "wrong": {
        "messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}],
        "add_generation_prompt": False,
        "tools": None,
    },
    "bare": {"messages": [{"role": "user", "content": "x"}]},
}

# Chat templates written for this file, in the manner of published ones.
CHATS = {
    "chatml": """\
{%- if messages[0].role != 'system' %}
    {{- '<|im_start|>system\\nYou help.<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.content is string %}
        {%- set content = message.content %}
    {%- else %}
        {%- set content = message.content | selectattr('type', 'equalto', 'text') | map(attribute='text') | join('') %}
    {%- endif %}
    {{- '<|im_start|>' + message.role + '\\n' + content | trim + '<|im_end|>' + '\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}
""",
    "alternate": """\
{{ bos_token }}{% for message in messages %}
{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
{{ raise_exception('Roles must alternate user/assistant, found ' ~ message.role ~ ' at ' ~ loop.index) }}
{% endif %}
{% if message['role'] == 'user' %}
{{ '[INST] ' + message['content'] + ' [/INST]' }}
{% elif message['role'] == 'assistant' %}
{% generation %}{{ ' ' + message['content'] + eos_token }}{% endgeneration %}
{% else %}
{{ raise_exception('Only user and assistant roles are supported') }}
{% endif %}
{% endfor %}
""",
    "macros": """\
{%- macro type_of(spec) -%}
  {%- if spec.type == 'object' -%}
    { {%- for key, value in spec.properties.items() %}{{ key }}: {{ type_of(value) }}{{ ', ' if not loop.last }}{% endfor -%} }
  {%- elif spec.type == 'array' -%}{{ type_of(spec['items']) }}[]
  {%- else -%}{{ spec.type | default('any') }}{%- endif -%}
{%- endmacro -%}
{%- macro turn(role, end='<end>') -%}
<{{ role }}>
{{ caller(role | upper) -}}
{{ end }}
{%- endmacro -%}
{%- set ns = namespace(last_user=-1, n_calls=0, text='') -%}
{%- for m in messages[::-1] -%}
  {%- if m.role == 'user' and ns.last_user < 0 -%}
    {%- set ns.last_user = messages | length - loop.index -%}
  {%- endif -%}
{%- endfor -%}
{%- if tools -%}
# Tools
{% for tool in tools -%}
- {{ tool.function.name }}({{ type_of(tool.function.parameters) }}) // {{ tool.function.description }}
{{ tool | tojson(indent=2) }}
{% endfor -%}
{%- endif -%}
{%- for message in messages %}
{% call(name) turn(message.role) -%}
{{ name }}{{ loop.index }}{% if loop.index0 == ns.last_user %}*{% endif %}:
{%- if message.reasoning_content is defined and message.reasoning_content %} <think>{{ message.reasoning_content }}</think>{% endif -%}
{%- for call in message.tool_calls or [] %}{% set ns.n_calls = ns.n_calls + 1 %} {{ call.function.name }}:{{ call.function.arguments | tojson }}
{%- for key, value in call.function.arguments | dictsort %}|{{ key }}={{ value if value is string else value | tojson }}{% endfor %}{% endfor -%}
{{ message.content }}
{%- endcall -%}
{%- endfor %}
{{ ns.n_calls }} {{ ns.last_user }} {{ strftime_now('%d %b %Y') }}
""",
    "thinking": """\
{%- for message in messages -%}
{%- if message.role == 'assistant' -%}
{%- set content = message.content -%}
{%- if '</think>' in content -%}{%- set content = content.split('</think>')[-1].lstrip('\\n') -%}{%- endif -%}
<|a|>{{ content }}{{ eos_token }}
{%- elif message.role in ('user', 'tool') -%}
<|{{ message.role[0] }}|>{{ message['content'] if message['content'] is string else message['content'][0]['text'] }}
{%- else -%}<|s|>{{ message.content.strip() }}{%- endif -%}
{%- endfor -%}
{{ '<|a|>' if add_generation_prompt }}
""",
}

VALUES = [
    "d",
    "l",
    "ls",
    "s",
    "e",
    "z",
    "i",
    "f",
    "n",
    "t",
    "big",
    "m",
    "nope",
    "(1, 'a')",
    "range(3)",
    "d.c",
]

FILTERS = """upper lower trim length list first last join(',') join int float string default('D') default('D',true)
tojson tojson(indent=2) tojson(separators=(',',':'),sort_keys=true) tojson(ensure_ascii=true) abs round round(1)
round(1,'floor') sort sort(reverse=true) unique|list reverse|list sum min max title capitalize replace('l','L',1)
items|list dictsort dictsort(by='value') map('upper')|list map(attribute='role')|list select|list reject|list
select('string')|list selectattr('role')|list selectattr('role','eq','user')|list rejectattr('k','defined')|list
groupby('role') batch(2,'-')|list slice(2)|list center(9) indent indent(2,true,true) wordcount truncate(6)
truncate(6,true,'.',0) count escape safe urlencode attr('a') format(1) pprint filesizeformat
striptags wordwrap(5) int(9,16) map('length')|list map(attribute='content',default='-')|list xmlattr
sort(attribute='role,content')|list min(attribute='role') d e forceescape""".split()

METHODS = """upper() strip() split() split('l',1) rsplit('l',1) replace('l','L') startswith('H') endswith(('x','d'))
find('o') rfind('o') count('l') title() items() keys() values()|list get('a') get('q',5) index(1) index('l')
join(['a','b']) lower() lstrip('H') rstrip('x') isdigit() zfill(9) center(15,'*') ljust(4) rjust(15,'.')
splitlines() partition('l') rpartition('l') capitalize() swapcase() append(1) format(1,2) removeprefix('He')
removesuffix('x') casefold() isalpha() isupper() copy() expandtabs(4) pop(0) real bit_length() is_integer()
__class__ nope""".split()

TESTS = (
    """defined undefined none string number integer float mapping sequence iterable boolean true false odd even
divisibleby(2) callable upper lower sameas(none) escaped filter test""".split()
    + ["in [1,3]", "eq 0", "ne 'a'", "gt 0", "lt(5)", "ge 1", "== 1"]
)

OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "~", "and", "or", "==", "<", ">=", "in", "not in"]
OPERANDS = ["d", "l", "s", "z", "i", "f", "n", "t", "big", "nope", "'%s'"]

# Language features, one a line; the context is "values".
SNIPPETS = [
    line
    for line in r"""
{% for x in l %}{{ loop.index }}{{ loop.first }}{{ loop.last }}{{ loop.previtem }}{{ loop.nextitem }}{{ loop.cycle('a','b') }} {% endfor %}
{% for x in l if x > 1 %}{{ loop.index }}/{{ loop.length }}:{{ x }}{{ loop.last }} {% else %}none{% endfor %}
{% for x in [] %}{{ x }}{% else %}none{% endfor %}{% for x in nope %}a{% else %}b{% endfor %}
{% for x in l %}{% continue %}{% else %}else runs{% endfor %}
{% for x in l %}{% if x == 1 %}{% break %}{% endif %}{{ x }}{% else %}no{% endfor %}
{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}{{ k }}
{% for a, (b, c) in [[1, [2, 3]]] %}{{ a }}{{ b }}{{ c }}{% endfor %}
{% for a, b in [[1, 2, 3]] %}{% endfor %}
{% for a, b in [[1]] %}{% endfor %}
{% for x in 5 %}{% endfor %}
{% for x in s %}{{ x }}.{% endfor %}
{% for x in [1, [2, [3]]] recursive %}{{ x if x is number else '(' ~ loop(x) ~ ')' }}{{ loop.depth }}{% endfor %}
{% for x in l %}{{ loop(l) }}{% endfor %}
{% for x in l %}{{ loop.changed(x > 1) }}{% endfor %}
{% set x = 1 %}{% for i in l %}{% set x = i %}{{ x }}{% endfor %}{{ x }}
{% set ns = namespace(x=1) %}{% for i in l %}{% set ns.x = ns.x * i %}{% endfor %}{{ ns.x }}{{ ns }}{{ ns.y is defined }}
{% set a, b = 1, 'two' %}{{ a }}{{ b }}{% set (c, d2) = (3, 4) %}{{ c }}{{ d2 }}
{% set x %}a{{ 1 + 1 }}b{% endset %}{{ x }}{{ x | length }}
{% set x | upper | replace('A', '-') %}abca{% endset %}{{ x }}
{% if z %}a{% elif f %}b{% else %}c{% endif %}{{ s }}{% if nope %}{% set s = 1 %}{% endif %}{{ s }}
{% if true %}{% set s = 1 %}{% endif %}{{ s }}
{{ s }}{% for i in [1] %}{{ q }}{% endfor %}{% set q = 2 %}{{ q }}
{% with a = 1, b = 2 %}{{ a }}{{ b }}{% set a = 3 %}{{ a }}{% endwith %}{{ a }}
{% with %}{% set s = 2 %}{{ s }}{% endwith %}{{ s }}
{% filter upper %}a{{ s }}{% set s = 'q' %}{{ s }}{% endfilter %}{{ s }}
{% filter length %}abc{% endfilter %}
{% macro f(a, b=2, c=a) %}{{ a }}-{{ b }}-{{ c }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1) }} {{ f(1, 2, 3, 4, k=5) }} {{ f(c=1) }}
{% macro f(a) %}{{ a }}{% endmacro %}{{ f(1, 2) }}
{% macro f(a) %}{{ a }}{% endmacro %}{{ f(b=2) }}
{% macro f(a) %}{{ a is defined }}{{ caller is defined }}{{ caller() }}{% endmacro %}{% call f() %}in{% endcall %}
{% macro f() %}{{ caller(1, 2) }}{% endmacro %}{% call(x, y=5, z=6) f() %}{{ x }}{{ y }}{{ z }}{% endcall %}
{% macro f() %}{% endmacro %}{% call f() %}x{% endcall %}
{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(5) }}{{ f.name }}{{ f.arguments }}
{% macro f() %}{{ g }}{% endmacro %}{% set g = 1 %}{{ f() }}{% set g = 2 %}{{ f() }}
{% macro f(n) %}{{ f(n) }}{% endmacro %}{{ f(1) }}
{% block b %}{{ s }}{% set s = 5 %}{{ s }}{% endblock %}{{ s }}{{ self.b() }}
{% for i in l %}{% block b %}{{ i }}{% endblock %}{% endfor %}{% for i in l %}{% block c scoped %}{{ i }}{% endblock %}{% endfor %}
{% generation %}a{% set s = 3 %}{{ s }}{% endgeneration %}{{ s }}
{% print 1, 'a' %}{# comment {{ x }} #}{% raw %}{{ x }}{% endraw %}
{{ 1 if z }}{{ 1 if t else 2 }}{{ 'a' if z else 'b' if n else 'c' }}
{{ 1 < 2 < 3 }}{{ 1 < 3 < 2 }}{{ 1 == 1.0 == true }}{{ not z and t or n }}{{ 2 ** 3 ** 2 }}{{ -2 ** 2 }}
{{ 7 // 2 }}{{ -7 // 2 }}{{ -7 % 3 }}{{ 7.5 // -2 }}{{ 2 ** -1 }}{{ 10 ** 20 }}{{ 1e16 }}{{ 1e-5 }}{{ 0.1 + 0.2 }}{{ 5e-324 }}
{{ 1_000 }}{{ 0x1F }}{{ 0o17 }}{{ 0b101 }}{{ 1.5e3 }}{{ 00 }}
{{ 'a' 'b' }}{{ 'a\n\t\x41\u00e9\U0001f600\101\q' }}{{ "it's" }}{{ ['it\'s', "a\"b'c"] }}
{{ l[1:] }}{{ l[::-1] }}{{ l[-2:] }}{{ l[5:] }}{{ s[1:3] }}{{ s[::-2] }}{{ l[n:2] }}{{ range(9)[2:8:3] }}
{{ l[::0] }}
{{ d[1:2] }}
{{ n[1:] }}
{{ l.0 }}{{ l[5] }}{{ d['zz'] }}{{ d.b.1 }}{{ d.items }}{{ d['items'] }}
{{ nope.x }}
{{ d.nope.x }}
{{ nope() }}
{{ n.x }}|{{ n.x is defined }}
{{ n.x.y }}
{{ nope + 1 }}
{{ nope ~ 1 }}{{ nope == nope }}{{ nope == n }}{{ nope | length }}{{ [nope] }}
{{ s() }}
{{ range(3) }}{{ range(5, 0, -2) | list }}{{ range(2) == range(2) }}{{ 3 in range(5) }}
{{ range(10 ** 9) }}
{{ range(1, 2, 0) }}
{{ dict(a=1, **{'b': 2}) }}{{ dict([['x', 1]]) }}{{ dict.fromkeys('ab', 0) }}
{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.current }}{% set j = joiner('|') %}{{ j() }}{{ j() }}
{{ '%s %d %05.1f %x %r %%' % ('a', 3, 2.55, 255, 'q') }}{{ '%(a)s' % {'a': 1} }}{{ '%-5s|%5s' % ('a', 'b') }}
{{ '{} {0}'.format(1) }}
{{ '{:>6.2f}|{:<4}|{:^5}|{:,}|{!r}|{a[0]}|{b.x}'.format(3.14159, 'a', 'b', 1234567, 'q', a=[7], b={'x': 8}) }}
{{ '%d' % 'a' }}
{{ '%s %s' % 'a' }}
{{ raise_exception('stop: ' ~ s) }}
{{ strftime_now('%Y-%m-%d %H:%M:%S %A %B %j %-d %p %y %e %I %%') }}
{{ l.append(4) }}
{{ d.update({}) }}
{{ l.append }}|{{ ''.__class__ }}|{{ l.append is defined }}
{{ ''.__class__.__mro__ }}
{% set ns = namespace() %}{% set ns._x = 1 %}
{% set d.x = 1 %}
{{ 1 | nope }}
{% if z %}{{ 1 | nope }}{% endif %}ok
{{ 1 is nope }}
{% include 'x' %}
{% if z %}{% include 'x' %}{% endif %}ok
{% do 1 %}
{% if 1 %}
{% for x in l %}{% endif %}
{{ 1 + }}
{{ (1 }}
{{ 'a }}
{% set loop = 1 %}{{ loop }}
{% for x in l %}{% set loop = 1 %}{% endfor %}
{% break %}
{{ f(a=1, a=2) }}
{{ {1: 'a', 'b': 2, 1.0: 'c', true: 'd', none: 'e', (1, 2): 'f'} }}
{{ {[1]: 2} }}
{{ {'a': 1} == {'a': 1.0} }}{{ [1, [2]] < [1, [3]] }}{{ (1,) + (2,) }}{{ [0] * 3 }}{{ 'ab' * 2 }}
{{ 'b' in d }}{{ 'x' in s }}{{ 1 in 'a' }}
{{ m | map(attribute='role') | first }}{{ m | selectattr('role', 'in', ['user']) | list | length }}{{ m | map('nope') | list }}
{{ m | groupby('role') | map('first') | list }}{% for g, items in m | groupby('role') %}{{ g }}{{ items | length }}{% endfor %}
{{ ('<a>' | safe) + '<b>' }}{{ ('<a>' | e) is escaped }}{{ '<' ~ ('>' | safe) }}{{ ['<' | safe] }}{{ ('<%s>' | safe) % '<' }}
{{ d | tojson }}{{ [1.0, none, true, 'é"\\/\n\x01', {}, []] | tojson }}{{ {1: 2, none: 3, true: 4} | tojson }}
{{ nope | tojson }}
{{ {(1, 2): 3} | tojson }}
{{ d.items() }}{{ d.keys() | first }}{{ d.values() | list | length }}{{ 'a' in d.keys() }}
{{ d.keys()[0] }}|{{ d.keys() | tojson }}
{% set x = l | map('string') %}{{ x | list }}{{ x | list }}{{ x | length }}
{{ 'İßﬁΣΑΣ'.lower() }}{{ 'ßﬁŉ'.upper() }}{{ 'ǆ ßa'.title() }}{{ '½²٣'.isdigit() }}{{ '\u00a0\u200b\ue000é' | list }}
{{ 'a\r\nb\x0bc\u2028d'.splitlines() }}{{ ' a  b '.split() }}{{ ' a  b '.split(' ') }}{{ ' a b c '.rsplit(none, 1) }}
{{ '12' | int + 1 }}{{ '1_0' | int }}{{ '0x1f' | int(base=16) }}{{ '3.9' | int }}{{ 'x' | int(-1) }}{{ '1e3' | float }}{{ 'inf' | float }}
{{ 2.5 | round }}{{ 3.5 | round }}{{ 2.675 | round(2) }}{{ 1234 | round(-2) }}{{ -2.5 | round(0, 'ceil') }}{{ 7 | round }}
""".split("\n")
    if line
]

# White space control; "\n" inside of a Python string.
SPACES = [
    "a\n  {% if true %}\n  b\n  {% endif %}\nc\n",
    "a  {%- if true -%}  b  {%- endif -%}  c",
    "a\n  {%+ if true +%}\nb{% endif %}\n\n",
    "  {{ 1 }}\n  {{- 2 -}}\n 3",
    "{# a #}\n{#- b -#}\n x {# c #} \n",
    "a\r\n{% if true %}\r\nb\r\n{% endif %}\r\n",
    "{% raw %}\n {{ a }}\n {%- endraw %}\n b",
    "{%- raw -%} {{ b }} {%- endraw -%} c",
    "\t{% set x = 1 %}\t\n\t{{ x }}",
    "x\n\n",
    "{% for i in [1,2] %}\n  {{ i }}\n{% endfor %}\n",
    "{%- for i in [1,2] %}\n  {{- i }}\n{%- endfor %}\n",
    "{# open",
    "{% raw %}",
    "{{ '}}' }}{{ '{%' }}",
    "a\u2028 {% if true %}\u00a0b{% endif %}",
    "{%\nif\ntrue\n%}x{%endif%}",
    "{% if true %}x{% endif -%}\n\n  y",
    "{{ {'a': {'b': 1}}['a'] }}",
    "{}{ {{1}}}",
]


def reference():
    """A function from source and variables to a case's answer."""
    import transformers.utils.chat_template_utils as utils
    from jinja2.exceptions import TemplateError

    class FixedTime(datetime):
        @classmethod
        def now(cls, tz=None):
            return cls.fromisoformat(NOW)

    utils.datetime = FixedTime

    def render(source: str, variables: dict):
        try:
            return utils._cached_compile_jinja_template(source).render(**variables)
        except TemplateError as error:
            return {"error": str(error)} if type(error) is TemplateError else None
        except Exception:  # any refusal of the reference is an answer
            return None

    return render


def sources():
    """(context name, source) of every case."""
    for value in VALUES:
        yield from (("values", f"{{{{{value}|{name}}}}}") for name in FILTERS)
        yield from (("values", f"{{{{{value} is {name}}}}}") for name in TESTS)
    for value in ("d", "l", "s", "z", "f", "n", "nope", "(1, 'a')"):
        yield from (("values", f"{{{{({value}).{name}}}}}") for name in METHODS)
    for operator in OPERATORS:
        for left in OPERANDS:
            # The reference would work on i ** big for ever.
            rights = [right for right in OPERANDS if (operator, right) != ("**", "big")]
            yield from (("values", f"{{{{{left} {operator} {right}}}}}") for right in rights)
    yield from (("values", snippet) for snippet in SNIPPETS + SPACES)
    for chat in CHATS.values():
        yield from ((name, chat) for name in CONTEXTS if name != "values")


def write_seeds(folder: Path) -> None:
    """Seeds of the fuzz target: a template, a NUL byte, its variables; and all snippets in a few files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, chat in CHATS.items():
        variables = CONTEXTS["chat" if name == "alternate" else "tools"]
        (folder / name).write_bytes(chat.encode() + b"\0" + json.dumps(variables).encode())
    for i, snippet in enumerate(SNIPPETS[::4] + SPACES):
        (folder / f"snippet{i:02d}").write_bytes(snippet.encode())
    for i in range(0, len(FILTERS), 8):
        text = "".join(f"{{{{ messages|{f} }}}}{{{{ s|{f} }}}}" for f in FILTERS[i : i + 8])
        (folder / f"filters{i:02d}").write_bytes(text.encode())


def main() -> None:
    if sys.argv[1:] == ["--seeds"]:
        write_seeds(Path("tests/fuzz/corpus/fuzz_template"))
        return
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "tests/cases/template/cases.json")
    render = reference()
    cases = []
    for context, source in sources():
        answer = render(
            source, copy.deepcopy(CONTEXTS[context])
        )  # the filter indent changes a list
        if isinstance(answer, str) and (
            " at 0x" in answer or "<generator" in answer or "j)" in answer
        ):
            continue  # differs from run to run; or a complex number, which is not supported
        cases.append([context, source, answer])
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(json.dumps(case, ensure_ascii=True, separators=(",", ":")) for case in cases)
    contexts = json.dumps(CONTEXTS, ensure_ascii=True)
    path.write_text(
        f'{{"now":"{NOW}",\n"contexts":{contexts},\n"cases":[\n{lines}\n]}}\n', encoding="ascii"
    )
    print(f"{path}: {len(cases)} cases, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
