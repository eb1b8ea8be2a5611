"""A Hugging Face text-generation model in a folder as an agent; needs torch and transformers."""

import asyncio
import threading
from pathlib import Path
from typing import Any

from plumbline.contract.errors import ParamsError, PlumblineError
from plumbline_consult.agents import LocalText
from plumbline_consult.replies import AgentError, Prompt, Reply, Usage, clean_text


class LocalTextResponder:
    """Generates greedily, one question at a time; stops at the next token when cancelled."""

    def __init__(self, name: str, agent: LocalText) -> None:
        self._agent = agent
        self._tokenizer, self._model = _load_model(name, agent)

    async def respond(self, prompt: Prompt) -> Reply:
        """Answer once. Raises AgentError."""
        stop = threading.Event()
        try:
            return await asyncio.to_thread(self._generate, prompt, stop)
        finally:
            stop.set()

    async def close(self) -> None:
        """Nothing is held."""

    def _generate(self, prompt: Prompt, stop: threading.Event) -> Reply:
        """Write up to `max_new_tokens` tokens. Raises AgentError whatever the model does."""
        import torch

        try:
            with torch.inference_mode():
                return self._write(prompt, stop)
        except Exception as error:  # noqa: BLE001  whatever a library raises
            message = clean_text(f"{type(error).__name__}: {error}")
            raise AgentError("model", message) from None

    def _write(self, prompt: Prompt, stop: threading.Event) -> Reply:
        tokens = self._encode(prompt)
        written = self._model.generate(
            tokens,
            max_new_tokens=self._agent.max_new_tokens,
            do_sample=False,
            stopping_criteria=[lambda *_, **__: stop.is_set()],
            pad_token_id=self._model.config.eos_token_id,
        )
        num_prompt = tokens.shape[1]
        new = written[0, num_prompt:]
        text = self._tokenizer.decode(new, skip_special_tokens=True)
        is_full = len(new) >= self._agent.max_new_tokens
        return Reply(text, Usage(num_prompt, max(1, len(new)), False), is_full)

    def _encode(self, prompt: Prompt) -> Any:
        """Tokens of shape [1, length]: by the model's chat template, if it has one."""
        if self._tokenizer.chat_template:
            messages = [{"role": "user", "content": prompt.text}]
            if prompt.system:
                messages.insert(0, {"role": "system", "content": prompt.system})
            encoded = self._tokenizer.apply_chat_template(
                messages, add_generation_prompt=True, return_tensors="pt", return_dict=True
            )
        else:
            text = f"{prompt.system}\n{prompt.text}" if prompt.system else prompt.text
            encoded = self._tokenizer(text, return_tensors="pt")
        return encoded["input_ids"]


def _load_model(name: str, agent: LocalText) -> tuple[Any, Any]:
    """Read the folder's own files: no network, no pickles, no code of the model."""
    if not Path(agent.folder).is_dir():
        raise ParamsError(f"agents.{name}.folder: {agent.folder}: there is no such folder")
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    try:
        tokenizer = AutoTokenizer.from_pretrained(agent.folder, **options)
        model = AutoModelForCausalLM.from_pretrained(agent.folder, use_safetensors=True, **options)
    except Exception as error:  # noqa: BLE001  whatever a library raises
        reason = clean_text(f"{type(error).__name__}: {error}")
        raise PlumblineError(
            f"agents.{name}.folder: {agent.folder}: cannot be loaded as a text-generation model "
            f"({reason})"
        ) from None
    return tokenizer, model.eval()
