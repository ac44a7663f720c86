"""Providers that speak OpenAI's Chat Completions with limits and additions of their own. (D) each one's documentation.

What a provider does not say it takes, such as `parallel_tool_calls`, is refused here rather than sent in hope.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from ..profile import NUMBER_LIMITS, Profile, StrictRules
from .openai import OPENAI_CHAT

_PLAIN: Final = replace(OPENAI_CHAT, strict=None, description_max=None)

DEEPSEEK: Final = replace(
    _PLAIN,
    name="deepseek",
    title="DeepSeek",
    # (D) Create Chat Completion: `tool_choice` is none, auto, required or named. (D) Thinking mode: "reasoning_content
    # must be passed back" with every turn that called a tool, hence `returns_reasoning`.
    abilities=frozenset({"none", "required", "one"}),
    images="none",
    base_url="https://api.deepseek.com",
    key_env="DEEPSEEK_API_KEY",
)
DEEPSEEK_BETA: Final = replace(
    DEEPSEEK,
    name="deepseek-beta",
    title="DeepSeek, strict mode (beta)",
    strict=StrictRules(  # (D) Tool Calls, strict mode
        all_required=True,
        keeps=NUMBER_LIMITS | {"pattern", "format"},
        formats=frozenset({"email", "hostname", "ipv4", "ipv6", "uuid"}),
        keeps_default=True,
        recursion=True,
        primitive_enums=False,
    ),
    strict_by_tool=False,  # (D) "all functions in the tools list must set the strict property to true"
    base_url="https://api.deepseek.com/beta",
)
GROQ: Final = replace(
    _PLAIN,
    name="groq",
    title="Groq",
    base_url="https://api.groq.com/openai/v1",
    key_env="GROQ_API_KEY",
)
OPENROUTER: Final = replace(
    _PLAIN,
    name="openrouter",
    title="OpenRouter",
    tools_max=None,  # the model's own limit, which only its provider knows
    base_url="https://openrouter.ai/api/v1",
    key_env="OPENROUTER_API_KEY",
)
TOGETHER: Final = replace(
    _PLAIN,
    name="together",
    title="Together AI",
    tools_max=None,
    abilities=frozenset({"none", "required", "one"}),
    base_url="https://api.together.xyz/v1",
    key_env="TOGETHER_API_KEY",
)
VLLM: Final = replace(
    _PLAIN,
    name="vllm",
    title="vLLM",
    tools_max=None,
    abilities=frozenset({"none", "required", "one"}),  # (D) Tool Calling: named, auto, required since 0.8.3, none
    base_url="http://localhost:8000/v1",
)
LM_STUDIO: Final = replace(
    _PLAIN,
    name="lm-studio",
    title="LM Studio",
    tools_max=None,
    abilities=frozenset({"none", "required"}),  # (D) API changelog 0.3.15: `tool_choice` is one of three words
    base_url="http://localhost:1234/v1",
)
QWEN: Final = replace(
    _PLAIN,
    name="qwen",
    title="Qwen (Alibaba Cloud Model Studio)",
    tools_max=None,
    abilities=frozenset({"none", "one", "serial"}),  # (D) Function calling: auto, none or named; parallel_tool_calls
    base_url="https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
    key_env="DASHSCOPE_API_KEY",
)
MOONSHOT: Final = replace(
    _PLAIN,
    name="moonshot",
    title="Moonshot Kimi",
    name_start="[a-zA-Z_]",  # (D) Tool Use: ^[a-zA-Z_][a-zA-Z0-9-_]{2,63}$
    name_min=3,
    strict_assumed=True,  # (D) Tool Use: left out, `strict` is true, and the schema has to be of a subset of theirs
    abilities=frozenset({"none"}),
    base_url="https://api.moonshot.ai/v1",
    key_env="MOONSHOT_API_KEY",
)
XAI: Final = replace(
    _PLAIN,
    name="xai",
    title="xAI Grok",
    tools_max=200,  # (D) Function calling
    base_url="https://api.x.ai/v1",
    key_env="XAI_API_KEY",
)
ZHIPU: Final = replace(
    _PLAIN,
    name="zhipu",
    title="Zhipu GLM (Z.ai)",
    abilities=frozenset(),  # (D) Chat Completion: `tool_choice` is `auto`
    base_url="https://api.z.ai/api/paas/v4",
    key_env="ZAI_API_KEY",
)
COMPATIBLE: Final[tuple[Profile, ...]] = (
    DEEPSEEK, DEEPSEEK_BETA, GROQ, OPENROUTER, TOGETHER, VLLM, LM_STUDIO, QWEN, MOONSHOT, XAI, ZHIPU,
)  # fmt: skip
