"""Who may use the product: a Cognito user pool and the client that people sign in with."""

from typing import Final

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_cognito as cognito
from constructs import Construct

from infra.stages import Stage

ADMIN_GROUP: Final = "admin"


class Users(Construct):
    """A user pool in which people are known by their e-mail address.

    Parameters
    ----------
    scope, construct_id
        As CDK takes them.
    stage : Stage
        Whether people may sign up themselves, how they sign in, and whether the pool outlives the stack.
    """

    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage) -> None:
        super().__init__(scope, construct_id)
        changeable = cognito.StandardAttribute(required=False, mutable=True)
        self.pool = cognito.UserPool(
            self,
            "Pool",
            self_sign_up_enabled=stage.self_sign_up,
            sign_in_aliases=cognito.SignInAliases(email=True),
            sign_in_case_sensitive=False,
            auto_verify=cognito.AutoVerifiedAttrs(email=True),
            # The claims of the account overlay.
            standard_attributes=cognito.StandardAttributes(
                email=cognito.StandardAttribute(required=True, mutable=True),
                fullname=changeable,
                profile_picture=changeable,
            ),
            password_policy=cognito.PasswordPolicy(
                min_length=12,
                require_lowercase=True,
                require_uppercase=True,
                require_digits=True,
                require_symbols=True,
                temp_password_validity=Duration.days(3),
            ),
            mfa=cognito.Mfa.OPTIONAL,
            mfa_second_factor=cognito.MfaSecondFactor(sms=False, otp=True),
            account_recovery=cognito.AccountRecovery.EMAIL_ONLY,
            deletion_protection=stage.keep_data,
            removal_policy=RemovalPolicy.RETAIN if stage.keep_data else RemovalPolicy.DESTROY,
        )
        visible = cognito.ClientAttributes().with_standard_attributes(
            email=True, email_verified=True, fullname=True, profile_picture=True
        )
        self.client = self.pool.add_client(
            "Client",
            # Apps on people's machines cannot keep a secret.
            generate_secret=False,
            # SRP never sends the password. With the admin flow whoever may administer the pool gets a token from a
            # command line; nobody else can use it.
            auth_flows=cognito.AuthFlow(
                user_srp=True, admin_user_password=True, user_password=stage.password_sign_in or None
            ),
            disable_o_auth=True,
            prevent_user_existence_errors=True,
            enable_token_revocation=True,
            id_token_validity=Duration.hours(1),
            access_token_validity=Duration.hours(1),
            refresh_token_validity=Duration.days(30),
            read_attributes=visible,
            write_attributes=cognito.ClientAttributes().with_standard_attributes(
                email=True, fullname=True, profile_picture=True
            ),
        )
        self.pool.add_group("Admins", group_name=ADMIN_GROUP, description="May erase accounts.")
