export const SECRETS =
  `password Password PASSWORD pAsSwOrD pass_word passwd user_passwd pwd userPwd pass_hash passHash password_hash
  hashed_password passwordHash password_salt plainPassword new-password passwort passphrase pass_code passkey user_pass smtp_pass
  db.pass dbpassword pwresetkey pw_hash password_reset_token remember_token rememberToken REMEMBER_TOKEN remember_code secret
  client_secret clientSecret clientsecret secretKey SECRET-KEY secret_answer webhook_secret salt user_salt api_key apikey apiKey
  API-KEY X-Api-Key api_keys access_key access_key_id private_key privateKey private_key_pem encryption_key auth_key consumer_key
  session_key activation_key token accessToken access_token refresh_token REFRESHTOKEN id_token vtoken csrf_token _token token_1
  token_hash access_tokens jwt bearer otp otp_code otpSecret totp totp_secret totpUri mfa mfa_secret mfaKey 2fa_code two_factor
  two_factor_secret twoFactorRecoveryCodes two_factor_recovery_codes google2fa_secret recovery_codes backup_codes security_code
  security_answer verification_code one_time_code pin user_pin card_pin card_number cardNumber creditcard credit_card
  credit_card_number cc_number ccnum card_no cvv CVV2 card_cvv cvc autologin login_credentials ｐａｓｓｗｏｒｄ pass\u200bword`.split(
    /\s+/,
  );

export const HARMLESS =
  `id name email account pass passes passed passport passport_number compass boarding_pass passenger bypass token_count
  tokens total_tokens prompt_tokens token_type secretary secretariat asphalt salted basalt keyboard key keys monkey public_key_id
  primary_key license_key pin_code pincode pinned spin opinion author authority authorized card card_type card_last4 discard notes
  cardinality account_number invoice_number phone_number vat_number number otpornost hotpot adopted footpath password_changed_at
  passwordChangedAt api_key_expires_at two_factor_enabled otp_verified_at session_id ccs ccnotes card_count cvs scissors promo_code
  zip_code code postal_code tax_code signup_date backup_wday hash content_hash credit cards credits creditor hashtag status`.split(
    /\s+/,
  );
