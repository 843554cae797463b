import { expression, type HclBlock, resource } from "./hcl.ts";
import type { InfraFunction } from "./infra_plan.ts";

/** Renders the URL of a function, and the right of everyone to call it if IAM does not decide. */
export function renderFunctionUrl(fn: InfraFunction): HclBlock[] {
  const { id, options, settings: { url } } = fn;
  if (url === undefined) return [];
  const isOpen = url === true || url.authorization !== "iam";
  const function_name = expression(`module.fn_${id}.function_name`);
  const address = resource("aws_lambda_function_url", id, {
    function_name,
    authorization_type: isOpen ? "NONE" : "AWS_IAM",
    invoke_mode: options.streaming ? "RESPONSE_STREAM" : undefined,
  });
  if (!isOpen) return [address];
  return [
    address,
    // both are needed for URLs since October 2025 (Lambda developer guide, "Control access to Lambda
    // function URLs"); neither lets anyone invoke the function without its URL
    resource("aws_lambda_permission", `${id}_url`, {
      statement_id: "AllowUrl",
      action: "lambda:InvokeFunctionUrl",
      function_name,
      principal: "*",
      function_url_auth_type: "NONE",
    }),
    resource("aws_lambda_permission", `${id}_url_invoke`, {
      statement_id: "AllowInvokeByUrl",
      action: "lambda:InvokeFunction",
      function_name,
      principal: "*",
      invoked_via_function_url: true,
    }),
  ];
}
