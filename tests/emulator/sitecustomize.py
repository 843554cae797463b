"""Mends what the emulator does differently from AWS. Python loads this file from PYTHONPATH when it starts.

Each part names AWS's page, read in 2026-11, and ends with the emulator's version that does the same.
"""

import importlib.abc
import importlib.util
import json
import sys
from datetime import datetime, timezone
from email.utils import parseaddr


def _mend_scheduler(eventbridge):
    """Replaces the context attributes in a schedule's input.

    https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-schedule-context-attributes.html
    """
    invoke = eventbridge._invoke_target

    def invoke_target(target, event, rule, *rest, **more):
        if event.get("Source") == "aws.scheduler" and isinstance(target.get("Input"), str):
            at = datetime.fromtimestamp(event["Time"], timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
            values = {
                "schedule-arn": rule.get("Arn", ""),
                "scheduled-time": at,
                "execution-id": event["EventId"],
                "attempt-number": "1",
            }
            text = target["Input"]
            for name, value in values.items():
                text = text.replace(f"<aws.scheduler.{name}>", value)
            target = {**target, "Input": text}
        return invoke(target, event, rule, *rest, **more)

    eventbridge._invoke_target = invoke_target


def _mend_code_location(lambda_svc):
    """Gives the address of a function's code a name of AWS without a port, over TLS.

    https://docs.aws.amazon.com/lambda/latest/api/API_FunctionCodeLocation.html
    """
    locate = lambda_svc._presigned_code_url

    def presigned_code_url(name):
        path = locate(name).split("/", 3)[3]
        return f"https://{lambda_svc._MINISTACK_HOST}/{path}"

    lambda_svc._presigned_code_url = presigned_code_url


def _mend_principal_arn(iam_evaluator):
    """Gives the condition key aws:PrincipalArn the ARN of the role, not that of its session.

    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_condition-keys.html#condition-keys-principalarn
    """
    resolve = iam_evaluator._resolve_condition_key

    def resolve_condition_key(key, context):
        value = resolve(key, context)
        if key.lower() != "aws:principalarn" or ":assumed-role/" not in value:
            return value
        account, role = value.split(":")[4], value.split("/")[1]
        return f"arn:aws:iam::{account}:role/{role}"

    iam_evaluator._resolve_condition_key = resolve_condition_key


def _log_decisions(evaluator):
    """Logs each action that a policy allowed, and each request that was refused. The emulator logs neither."""
    evaluate, enforce = evaluator.evaluate, evaluator.enforce

    def evaluate_and_log(context, *policies):
        result = evaluate(context, *policies)
        if result.decision == "Allow":
            print(f"allowed {context.action} to {context.principal_arn}", flush=True)
        return result

    def enforce_and_log(access_key_id, action, *rest, **more):
        refused = enforce(access_key_id, action, *rest, **more)
        if refused is not None:
            caller = getattr(refused, "principal_arn", "") or refused
            print(f"denied {action} to {caller}", flush=True)
        return refused

    evaluator.evaluate, evaluator.enforce = evaluate_and_log, enforce_and_log


def _mend_evaluator(evaluator):
    _mend_principal_arn(evaluator)
    _log_decisions(evaluator)


def _mend_iam_actions(iam_actions):
    """Checks a request with several messages of Amazon SQS as the action for one of them, and mails on their identity.

    The identity is the domain of the sender: projects of the suite have no identities of one address.

    https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-api-permissions-reference.html
    https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonsimpleemailservicev2.html
    """
    extract, locate = iam_actions.extract_iam_action, iam_actions.extract_resource_arn

    def extract_iam_action(*request):
        action = extract(*request)
        return action.removesuffix("Batch") if action and action.startswith("sqs:") else action

    def extract_resource_arn(service, method, path, headers, body, query_params, region, account):
        if path != "/v2/email/outbound-emails":
            return locate(service, method, path, headers, body, query_params, region, account)
        domain = parseaddr(json.loads(body)["FromEmailAddress"])[1].split("@")[1]
        return f"arn:aws:ses:{region}:{account}:identity/{domain}"

    iam_actions.extract_iam_action = extract_iam_action
    iam_actions.extract_resource_arn = extract_resource_arn


def _publish_mail_events(ses_v2):
    """Publishes what became of a mail to the topics of its configuration set. The emulator knows topics of identities only.

    https://docs.aws.amazon.com/ses/latest/dg/event-publishing-retrieving-sns-contents.html
    """
    from ministack.services import ses, sns

    handle = ses_v2.handle_request

    def publish(mail, message_id):
        name = mail.get("ConfigurationSetName", "")
        destinations = (ses_v2._config_sets.get(name) or {}).get("EventDestinations", {}).values()
        at = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        tags = {tag["Name"]: [tag["Value"]] for tag in mail.get("EmailTags", [])}
        for address in mail["Destination"].get("ToAddresses", []):
            recipient = parseaddr(address)[1]
            local, domain = recipient.split("@")
            is_simulator = domain == ses._SIMULATOR_DOMAIN
            outcomes = ses._SIMULATOR_OUTCOMES.get(local, ()) if is_simulator else ()
            for kind, subtype in outcomes or (("Delivery", None),):
                event = {
                    "eventType": kind,
                    "mail": {
                        "timestamp": at,
                        "source": parseaddr(mail["FromEmailAddress"])[1],
                        "messageId": message_id,
                        "destination": [recipient],
                        "tags": {"ses:configuration-set": [name], **tags},
                    },
                    **ses._notification_detail(kind, recipient, at, subtype),
                }
                for destination in destinations:
                    topic = destination.get("SnsDestination", {}).get("TopicArn")
                    if topic and kind.upper() in destination["MatchingEventTypes"]:
                        sns.publish_internal(topic, json.dumps(event), "Amazon SES Email Event Notification")

    async def handle_request(method, path, headers, body, query_params):
        answer = await handle(method, path, headers, body, query_params)
        if path == "/v2/email/outbound-emails" and answer[0] == 200:
            publish(json.loads(body), json.loads(answer[2])["MessageId"])
        return answer

    ses_v2.handle_request = handle_request


def _age_objects(s3):
    """Gives an object with the metadata written-at this time, because a test does not wait for a lock that expires."""
    build = s3._build_object_record

    def build_object_record(body, headers, *rest, **more):
        record = build(body, headers, *rest, **more)
        at = headers.get("x-amz-meta-written-at")
        return record if at is None else {**record, "last_modified": at}

    s3._build_object_record = build_object_record


MENDED = {
    "ministack.core.iam_actions": _mend_iam_actions,
    "ministack.core.iam_evaluator": _mend_evaluator,
    "ministack.services.eventbridge": _mend_scheduler,
    "ministack.services.lambda_svc": _mend_code_location,
    "ministack.services.s3": _age_objects,
    "ministack.services.ses_v2": _publish_mail_events,
}


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        mend = MENDED.get(name)
        if mend is None:
            return None
        MENDED.pop(name)
        spec = importlib.util.find_spec(name)
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            mend(module)

        spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, _Finder())
