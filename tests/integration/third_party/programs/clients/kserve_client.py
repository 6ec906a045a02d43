"""Sends rows to an ensemble through KServe's client and prints the response as JSON; needs kserve.

python kserve_client.py URL MODEL TOKEN < rows.json
"""

import asyncio
import json
import sys

import numpy as np
from kserve import InferenceRESTClient, InferInput, InferRequest, RESTConfig


async def main(url, model, token):
    rows = np.array(json.load(sys.stdin), np.float64)
    headers = {"Authorization": f"Bearer {token}"}
    answers = {}
    async with InferenceRESTClient(RESTConfig(protocol="v2")) as client:
        answers["live"] = await client.is_server_live(url)
        answers["ready"] = await client.is_server_ready(url)
        answers["model_ready"] = await client.is_model_ready(url, model, headers=headers)
        answers["absent_ready"] = await client.is_model_ready(url, "absent", headers=headers)
        for datatype, kind in (("FP64", np.float64), ("FP32", np.float32), ("INT64", np.int64), ("UINT8", np.uint8)):
            for binary in (True, False):
                tensor = InferInput("INPUT", list(rows.shape), datatype)
                tensor.set_data_from_numpy(rows.astype(kind), binary_data=binary)
                request = InferRequest(model, [tensor], parameters={"binary_data_output": binary})
                answer = await client.infer(url, request, model_name=model, headers=dict(headers))
                outputs = {output.name: output.as_numpy() for output in answer.outputs}
                answers[f"{datatype} {'binary' if binary else 'json'}"] = {
                    "probabilities": outputs["PROBABILITIES"].tolist(),
                    "labels": [each.decode() if isinstance(each, bytes) else each for each in outputs["LABEL"]],
                }
        try:
            tensor = InferInput("INPUT", [1, 2], "FP64")
            tensor.set_data_from_numpy(np.zeros((1, 2)), binary_data=False)
            await client.infer(url, InferRequest(model, [tensor]), model_name=model, headers=dict(headers))
        except Exception as error:
            answers["error"] = str(error)
    print(json.dumps(answers))


asyncio.run(main(*sys.argv[1:]))
