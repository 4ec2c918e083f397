"""Which models there are, by the names that pydantic-ai gives their providers. The catalog reads this.

Nothing of pydantic-ai is imported here: a row names the classes, and the first use of a model loads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

CHAT = "openai:OpenAIChatModel"
RESPONSES = "openai:OpenAIResponsesModel"


@dataclass(frozen=True)
class SpeaksOpenAI:
    """A provider behind OpenAI's client: it needs nothing installed, and any address may take its place.

    ``keys`` are variables of which the first that is set holds the key. Without ``url`` the address must be
    given by ``url_variable``. ``keyless`` servers want no key; nor must there be one for an address of one's own.
    """

    provider: str
    keys: tuple[str, ...]
    url: str
    url_variable: str
    model: str = CHAT
    keyless: bool = False


@dataclass(frozen=True)
class HasItsOwnClient:
    """A provider that makes its client from arguments, each the first of its variables that is set.

    ``package`` is what must be importable, ``extra`` what to install for that.
    """

    provider: str
    model: str
    needs: Mapping[str, tuple[str, ...]]
    takes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    package: str = ""
    extra: str = ""


Provider = SpeaksOpenAI | HasItsOwnClient

_OPENAI = ("openai:OpenAIProvider", ("OPENAI_API_KEY",), "https://api.openai.com/v1", "OPENAI_BASE_URL")
_AZURE = {"api_key": ("AZURE_OPENAI_API_KEY",), "azure_endpoint": ("AZURE_OPENAI_ENDPOINT",)}
_AZURE_VERSION = {"api_version": ("OPENAI_API_VERSION",)}

PROVIDERS: Mapping[str, Provider] = {
    "openai": SpeaksOpenAI(*_OPENAI),
    "openai-responses": SpeaksOpenAI(*_OPENAI, model=RESPONSES),
    "anthropic": HasItsOwnClient(
        "anthropic:AnthropicProvider",
        "anthropic:AnthropicModel",
        needs={"api_key": ("ANTHROPIC_API_KEY",)},
        takes={"base_url": ("ANTHROPIC_BASE_URL",)},
        package="anthropic",
        extra="nonoka[anthropic]",
    ),
    "alibaba": SpeaksOpenAI(
        "alibaba:AlibabaProvider",
        ("ALIBABA_API_KEY", "DASHSCOPE_API_KEY"),
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        "ALIBABA_BASE_URL",
    ),
    "azure": HasItsOwnClient("azure:AzureProvider", CHAT, needs=_AZURE, takes=_AZURE_VERSION),
    "azure-responses": HasItsOwnClient("azure:AzureProvider", RESPONSES, needs=_AZURE, takes=_AZURE_VERSION),
    "bedrock": HasItsOwnClient(
        "bedrock:BedrockProvider",
        "bedrock:BedrockConverseModel",
        needs={"region_name": ("AWS_DEFAULT_REGION", "AWS_REGION")},
        takes={"api_key": ("AWS_BEARER_TOKEN_BEDROCK",)},
        package="boto3",
        extra="pydantic-ai-slim[bedrock]",
    ),
    "cerebras": SpeaksOpenAI(
        "cerebras:CerebrasProvider",
        ("CEREBRAS_API_KEY",),
        "https://api.cerebras.ai/v1",
        "CEREBRAS_BASE_URL",
        model="cerebras:CerebrasModel",
    ),
    "cohere": HasItsOwnClient(
        "cohere:CohereProvider",
        "cohere:CohereModel",
        needs={"api_key": ("CO_API_KEY",)},
        package="cohere",
        extra="pydantic-ai-slim[cohere]",
    ),
    "crusoe": SpeaksOpenAI(
        "crusoe:CrusoeProvider",
        ("CRUSOE_API_KEY",),
        "https://api.inference.crusoecloud.com/v1",
        "CRUSOE_BASE_URL",
        model="crusoe:CrusoeModel",
    ),
    "deepseek": SpeaksOpenAI(
        "deepseek:DeepSeekProvider", ("DEEPSEEK_API_KEY",), "https://api.deepseek.com", "DEEPSEEK_BASE_URL"
    ),
    "fireworks": SpeaksOpenAI(
        "fireworks:FireworksProvider",
        ("FIREWORKS_API_KEY",),
        "https://api.fireworks.ai/inference/v1",
        "FIREWORKS_BASE_URL",
    ),
    "google": HasItsOwnClient(
        "google:GoogleProvider",
        "google:GoogleModel",
        needs={"api_key": ("GOOGLE_API_KEY", "GEMINI_API_KEY")},
        takes={"base_url": ("GOOGLE_GEMINI_BASE_URL",)},
        package="google.genai",
        extra="pydantic-ai-slim[google]",
    ),
    "google-cloud": HasItsOwnClient(
        "google_cloud:GoogleCloudProvider",
        "google:GoogleModel",
        needs={"project": ("GOOGLE_CLOUD_PROJECT",)},
        takes={"location": ("GOOGLE_CLOUD_LOCATION",)},
        package="google.genai",
        extra="pydantic-ai-slim[google]",
    ),
    "groq": HasItsOwnClient(
        "groq:GroqProvider",
        "groq:GroqModel",
        needs={"api_key": ("GROQ_API_KEY",)},
        takes={"base_url": ("GROQ_BASE_URL",)},
        package="groq",
        extra="pydantic-ai-slim[groq]",
    ),
    "heroku": SpeaksOpenAI(
        "heroku:HerokuProvider",
        ("HEROKU_INFERENCE_KEY",),
        "https://us.inference.heroku.com/v1",
        "HEROKU_INFERENCE_URL",
    ),
    "huggingface": HasItsOwnClient(
        "huggingface:HuggingFaceProvider",
        "huggingface:HuggingFaceModel",
        needs={"api_key": ("HF_TOKEN",)},
        package="huggingface_hub",
        extra="pydantic-ai-slim[huggingface]",
    ),
    "litellm": SpeaksOpenAI("litellm:LiteLLMProvider", ("LITELLM_API_KEY",), "", "LITELLM_BASE_URL", keyless=True),
    "meta": SpeaksOpenAI(
        "meta:MetaProvider", ("META_API_KEY",), "https://api.meta.ai/v1", "META_BASE_URL", model=RESPONSES
    ),
    "mistral": HasItsOwnClient(
        "mistral:MistralProvider",
        "mistral:MistralModel",
        needs={"api_key": ("MISTRAL_API_KEY",)},
        takes={"base_url": ("MISTRAL_BASE_URL",)},
        package="mistralai",
        extra="pydantic-ai-slim[mistral]",
    ),
    "moonshotai": SpeaksOpenAI(
        "moonshotai:MoonshotAIProvider",
        ("MOONSHOTAI_API_KEY",),
        "https://api.moonshot.ai/v1",
        "MOONSHOTAI_BASE_URL",
    ),
    "nebius": SpeaksOpenAI(
        "nebius:NebiusProvider", ("NEBIUS_API_KEY",), "https://api.studio.nebius.com/v1", "NEBIUS_BASE_URL"
    ),
    "ollama": SpeaksOpenAI(
        "ollama:OllamaProvider",
        ("OLLAMA_API_KEY",),
        "http://localhost:11434/v1",
        "OLLAMA_BASE_URL",
        model="ollama:OllamaModel",
        keyless=True,
    ),
    "openrouter": SpeaksOpenAI(
        "openrouter:OpenRouterProvider",
        ("OPENROUTER_API_KEY",),
        "https://openrouter.ai/api/v1",
        "OPENROUTER_BASE_URL",
        model="openrouter:OpenRouterModel",
    ),
    "ovhcloud": SpeaksOpenAI(
        "ovhcloud:OVHcloudProvider",
        ("OVHCLOUD_API_KEY",),
        "https://oai.endpoints.kepler.ai.cloud.ovh.net/v1",
        "OVHCLOUD_BASE_URL",
    ),
    "sambanova": SpeaksOpenAI(
        "sambanova:SambaNovaProvider",
        ("SAMBANOVA_API_KEY",),
        "https://api.sambanova.ai/v1",
        "SAMBANOVA_BASE_URL",
    ),
    "snowflake": HasItsOwnClient(
        "snowflake:SnowflakeProvider",
        "snowflake:SnowflakeModel",
        needs={"token": ("SNOWFLAKE_TOKEN",), "account": ("SNOWFLAKE_ACCOUNT",)},
    ),
    "together": SpeaksOpenAI(
        "together:TogetherProvider", ("TOGETHER_API_KEY",), "https://api.together.xyz/v1", "TOGETHER_BASE_URL"
    ),
    "vercel": SpeaksOpenAI(
        "vercel:VercelProvider",
        ("VERCEL_AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN"),
        "https://ai-gateway.vercel.sh/v1",
        "VERCEL_AI_GATEWAY_BASE_URL",
    ),
    "vllm": SpeaksOpenAI("vllm:VLLMProvider", ("VLLM_API_KEY",), "", "VLLM_BASE_URL", keyless=True),
    "xai": HasItsOwnClient(
        "xai:XaiProvider",
        "xai:XaiModel",
        needs={"api_key": ("XAI_API_KEY",)},
        package="xai_sdk",
        extra="pydantic-ai-slim[xai]",
    ),
    "zai": SpeaksOpenAI(
        "zai:ZaiProvider",
        ("ZAI_API_KEY",),
        "https://api.z.ai/api/paas/v4",
        "ZAI_BASE_URL",
        model="zai:ZaiModel",
    ),
}
