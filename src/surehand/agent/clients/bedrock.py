"""`BedrockModel`: Amazon Bedrock's Converse. boto3 is imported when the first model is made."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from typing import Any, Final, cast

from ...errors import ConfigError
from ...providers.blobs import as_json
from .sdk import SdkModel, missing

_SECRETS: Final = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK")


class BedrockModel(SdkModel):
    """A model on Amazon Bedrock.

    boto3 blocks, so it is called in threads.

    Args:
        name: The id or ARN of a model or inference profile, such as `eu.anthropic.claude-sonnet-5-v1:0`.
        client: A client `bedrock-runtime` of boto3, made with `Config(retries={"total_max_attempts": 1})`: what is
            worth another attempt is the run's to decide. By default one as the environment and AWS's own files say:
            `AWS_REGION`, `AWS_PROFILE`, `AWS_BEARER_TOKEN_BEDROCK`, `AWS_ENDPOINT_URL_BEDROCK_RUNTIME`, ...
        options: Put into each request, such as `{"inferenceConfig": {"maxTokens": 4096}}`.

    Raises:
        ConfigError: The package or the region is missing, the client is not one or repeats requests by itself, or an
            option is reserved.
    """

    dialect = "bedrock"
    package = "boto3"
    resource = "converse_stream"
    reserved = SdkModel.reserved | {"modelId", "toolConfig"}

    def __init__(self, name: str, client: Any = None, *, options: Mapping[str, Any] | None = None) -> None:
        super().__init__(name, client, options)

    def _default_client(self) -> Any:
        try:
            boto3: Any = importlib.import_module("boto3")  # by its name: it has no types
            config: Any = importlib.import_module("botocore.config")
        except ImportError as error:
            raise missing(self.package, "bedrock") from error
        region = os.environ.get("AWS_REGION")  # boto3 itself reads only AWS_DEFAULT_REGION and the files
        once = config.Config(retries={"total_max_attempts": 1})
        try:
            return boto3.Session().client("bedrock-runtime", region_name=region, config=once)
        except _exceptions().NoRegionError:
            raise ConfigError("boto3: there is no region; set AWS_REGION or give a client") from None
        except _exceptions().BotoCoreError as error:
            raise ConfigError(f"boto3: {error}") from error

    def _check(self, client: Any) -> None:
        if not (hasattr(client, "meta") and hasattr(client, self.resource)):
            kind = f"{client.__class__.__module__.partition('.')[0]}.{client.__class__.__name__}"
            raise ConfigError(f"{type(self).__name__} needs a client bedrock-runtime of the package boto3, not {kind}")

    def _without_retries(self, client: Any) -> Any:
        retries: Mapping[str, Any] = client.meta.config.retries or {}
        if retries.get("total_max_attempts") != 1:  # nothing can change it once the client is made
            raise ConfigError(
                "boto3: the client repeats requests by itself, and the run decides about that; make it with "
                'config=botocore.config.Config(retries={"total_max_attempts": 1})'
            )
        return client

    def _keys(self, client: Any) -> list[str]:
        return [os.environ[name] for name in _SECRETS if os.environ.get(name)]

    async def _close(self, client: Any) -> None:
        client.close()

    async def _create(self, request: Mapping[str, Any], *, stream: bool) -> Any:
        given = {"modelId": self.name, **self._options, **request}
        method = self._client.converse_stream if stream else self._client.converse
        known = _exceptions()
        try:
            answered = await self._call(method, **given)
        except known.NoCredentialsError:
            raise ValueError("there are no credentials; set AWS_PROFILE or AWS_BEARER_TOKEN_BEDROCK") from None
        except known.ParamValidationError as error:
            raise ValueError(" ".join(str(error).split())) from None
        return answered["stream"] if stream else answered

    def _object(self, answer: Any) -> dict[str, Any]:
        given = super()._object(answer)
        given.pop("ResponseMetadata", None)
        return as_json(given)

    def _answered(self, error: Exception) -> tuple[int, dict[str, Any]]:
        response = cast("dict[str, Any]", getattr(error, "response", None) or {})
        told: dict[str, Any] = response.get("Error", {})
        status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        return status, {"code": told.get("Code"), "message": told.get("Message")} if told else {}


def _exceptions() -> Any:
    return importlib.import_module("botocore.exceptions")
