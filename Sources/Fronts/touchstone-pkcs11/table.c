// The table of PKCS #11 2.40. The functions that the module has are in PKCS11Module; the others say so.
//
// An operation that is not supported cannot be begun, so its other functions say the same. Keys are made and deleted by the command
// alone; a program verifies with the public key by its own means.
#include "CPKCS11.h"

#define UNSUPPORTED(name, parameters) \
    CK_RV name parameters { return CKR_FUNCTION_NOT_SUPPORTED; }

UNSUPPORTED(C_InitToken, (CK_SLOT_ID slot_id, CK_BYTE *pin, CK_ULONG pin_len, CK_BYTE *label))
UNSUPPORTED(C_InitPIN, (CK_SESSION_HANDLE session, CK_BYTE *pin, CK_ULONG pin_len))
UNSUPPORTED(C_SetPIN, (CK_SESSION_HANDLE session, CK_BYTE *old_pin, CK_ULONG old_len, CK_BYTE *new_pin, CK_ULONG new_len))
UNSUPPORTED(C_GetOperationState, (CK_SESSION_HANDLE session, CK_BYTE *operation_state, CK_ULONG *operation_state_len))
UNSUPPORTED(C_SetOperationState, (CK_SESSION_HANDLE session, CK_BYTE *operation_state, CK_ULONG operation_state_len,
            CK_OBJECT_HANDLE encryption_key, CK_OBJECT_HANDLE authentiation_key))
UNSUPPORTED(C_CopyObject, (CK_SESSION_HANDLE session, CK_OBJECT_HANDLE object, CK_ATTRIBUTE *templ, CK_ULONG count,
            CK_OBJECT_HANDLE *new_object))
UNSUPPORTED(C_EncryptInit, (CK_SESSION_HANDLE session, CK_MECHANISM *mechanism, CK_OBJECT_HANDLE key))
UNSUPPORTED(C_Encrypt, (CK_SESSION_HANDLE session, CK_BYTE *data, CK_ULONG data_len, CK_BYTE *encrypted_data,
            CK_ULONG *encrypted_data_len))
UNSUPPORTED(C_EncryptUpdate, (CK_SESSION_HANDLE session, CK_BYTE *part, CK_ULONG part_len, CK_BYTE *encrypted_part,
            CK_ULONG *encrypted_part_len))
UNSUPPORTED(C_EncryptFinal, (CK_SESSION_HANDLE session, CK_BYTE *last_encrypted_part, CK_ULONG *last_encrypted_part_len))
UNSUPPORTED(C_DecryptInit, (CK_SESSION_HANDLE session, CK_MECHANISM *mechanism, CK_OBJECT_HANDLE key))
UNSUPPORTED(C_Decrypt, (CK_SESSION_HANDLE session, CK_BYTE *encrypted_data, CK_ULONG encrypted_data_len, CK_BYTE *data,
            CK_ULONG *data_len))
UNSUPPORTED(C_DecryptUpdate, (CK_SESSION_HANDLE session, CK_BYTE *encrypted_part, CK_ULONG encrypted_part_len,
            CK_BYTE *part, CK_ULONG *part_len))
UNSUPPORTED(C_DecryptFinal, (CK_SESSION_HANDLE session, CK_BYTE *last_part, CK_ULONG *last_part_len))
UNSUPPORTED(C_DigestKey, (CK_SESSION_HANDLE session, CK_OBJECT_HANDLE key))
UNSUPPORTED(C_SignRecoverInit, (CK_SESSION_HANDLE session, CK_MECHANISM *mechanism, CK_OBJECT_HANDLE key))
UNSUPPORTED(C_SignRecover, (CK_SESSION_HANDLE session, CK_BYTE *data, CK_ULONG data_len, CK_BYTE *signature,
            CK_ULONG *signature_len))
UNSUPPORTED(C_VerifyInit, (CK_SESSION_HANDLE session, CK_MECHANISM *mechanism, CK_OBJECT_HANDLE key))
UNSUPPORTED(C_Verify, (CK_SESSION_HANDLE session, CK_BYTE *data, CK_ULONG data_len, CK_BYTE *signature,
            CK_ULONG signature_len))
UNSUPPORTED(C_VerifyUpdate, (CK_SESSION_HANDLE session, CK_BYTE *part, CK_ULONG part_len))
UNSUPPORTED(C_VerifyFinal, (CK_SESSION_HANDLE session, CK_BYTE *signature, CK_ULONG signature_len))
UNSUPPORTED(C_VerifyRecoverInit, (CK_SESSION_HANDLE session, CK_MECHANISM *mechanism, CK_OBJECT_HANDLE key))
UNSUPPORTED(C_VerifyRecover, (CK_SESSION_HANDLE session, CK_BYTE *signature, CK_ULONG signature_len, CK_BYTE *data,
            CK_ULONG *data_len))
UNSUPPORTED(C_DigestEncryptUpdate, (CK_SESSION_HANDLE session, CK_BYTE *part, CK_ULONG part_len, CK_BYTE *encrypted_part,
            CK_ULONG *encrypted_part_len))
UNSUPPORTED(C_DecryptDigestUpdate, (CK_SESSION_HANDLE session, CK_BYTE *encrypted_part, CK_ULONG encrypted_part_len,
            CK_BYTE *part, CK_ULONG *part_len))
UNSUPPORTED(C_SignEncryptUpdate, (CK_SESSION_HANDLE session, CK_BYTE *part, CK_ULONG part_len, CK_BYTE *encrypted_part,
            CK_ULONG *encrypted_part_len))
UNSUPPORTED(C_DecryptVerifyUpdate, (CK_SESSION_HANDLE session, CK_BYTE *encrypted_part, CK_ULONG encrypted_part_len,
            CK_BYTE *part, CK_ULONG *part_len))
UNSUPPORTED(C_GenerateKey, (CK_SESSION_HANDLE session, CK_MECHANISM *mechanism, CK_ATTRIBUTE *templ, CK_ULONG count,
            CK_OBJECT_HANDLE *key))
UNSUPPORTED(C_GenerateKeyPair, (CK_SESSION_HANDLE session, CK_MECHANISM *mechanism, CK_ATTRIBUTE *public_key_template,
            CK_ULONG public_key_attribute_count, CK_ATTRIBUTE *private_key_template,
            CK_ULONG private_key_attribute_count, CK_OBJECT_HANDLE *public_key, CK_OBJECT_HANDLE *private_key))
UNSUPPORTED(C_WrapKey, (CK_SESSION_HANDLE session, CK_MECHANISM *mechanism, CK_OBJECT_HANDLE wrapping_key,
            CK_OBJECT_HANDLE key, CK_BYTE *wrapped_key, CK_ULONG *wrapped_key_len))
UNSUPPORTED(C_UnwrapKey, (CK_SESSION_HANDLE session, CK_MECHANISM *mechanism, CK_OBJECT_HANDLE unwrapping_key,
            CK_BYTE *wrapped_key, CK_ULONG wrapped_key_len, CK_ATTRIBUTE *templ, CK_ULONG attribute_count,
            CK_OBJECT_HANDLE *key))

CK_RV C_GetFunctionStatus(CK_SESSION_HANDLE session) { return CKR_FUNCTION_NOT_PARALLEL; }
CK_RV C_CancelFunction(CK_SESSION_HANDLE session) { return CKR_FUNCTION_NOT_PARALLEL; }

// Not constant: the standard gives it to programs as theirs.
static CK_FUNCTION_LIST table = {
    .version = {2, 40},
    .C_Initialize = C_Initialize,
    .C_Finalize = C_Finalize,
    .C_GetInfo = C_GetInfo,
    .C_GetFunctionList = C_GetFunctionList,
    .C_GetSlotList = C_GetSlotList,
    .C_GetSlotInfo = C_GetSlotInfo,
    .C_GetTokenInfo = C_GetTokenInfo,
    .C_GetMechanismList = C_GetMechanismList,
    .C_GetMechanismInfo = C_GetMechanismInfo,
    .C_InitToken = C_InitToken,
    .C_InitPIN = C_InitPIN,
    .C_SetPIN = C_SetPIN,
    .C_OpenSession = C_OpenSession,
    .C_CloseSession = C_CloseSession,
    .C_CloseAllSessions = C_CloseAllSessions,
    .C_GetSessionInfo = C_GetSessionInfo,
    .C_GetOperationState = C_GetOperationState,
    .C_SetOperationState = C_SetOperationState,
    .C_Login = C_Login,
    .C_Logout = C_Logout,
    .C_CreateObject = C_CreateObject,
    .C_CopyObject = C_CopyObject,
    .C_DestroyObject = C_DestroyObject,
    .C_GetObjectSize = C_GetObjectSize,
    .C_GetAttributeValue = C_GetAttributeValue,
    .C_SetAttributeValue = C_SetAttributeValue,
    .C_FindObjectsInit = C_FindObjectsInit,
    .C_FindObjects = C_FindObjects,
    .C_FindObjectsFinal = C_FindObjectsFinal,
    .C_EncryptInit = C_EncryptInit,
    .C_Encrypt = C_Encrypt,
    .C_EncryptUpdate = C_EncryptUpdate,
    .C_EncryptFinal = C_EncryptFinal,
    .C_DecryptInit = C_DecryptInit,
    .C_Decrypt = C_Decrypt,
    .C_DecryptUpdate = C_DecryptUpdate,
    .C_DecryptFinal = C_DecryptFinal,
    .C_DigestInit = C_DigestInit,
    .C_Digest = C_Digest,
    .C_DigestUpdate = C_DigestUpdate,
    .C_DigestKey = C_DigestKey,
    .C_DigestFinal = C_DigestFinal,
    .C_SignInit = C_SignInit,
    .C_Sign = C_Sign,
    .C_SignUpdate = C_SignUpdate,
    .C_SignFinal = C_SignFinal,
    .C_SignRecoverInit = C_SignRecoverInit,
    .C_SignRecover = C_SignRecover,
    .C_VerifyInit = C_VerifyInit,
    .C_Verify = C_Verify,
    .C_VerifyUpdate = C_VerifyUpdate,
    .C_VerifyFinal = C_VerifyFinal,
    .C_VerifyRecoverInit = C_VerifyRecoverInit,
    .C_VerifyRecover = C_VerifyRecover,
    .C_DigestEncryptUpdate = C_DigestEncryptUpdate,
    .C_DecryptDigestUpdate = C_DecryptDigestUpdate,
    .C_SignEncryptUpdate = C_SignEncryptUpdate,
    .C_DecryptVerifyUpdate = C_DecryptVerifyUpdate,
    .C_GenerateKey = C_GenerateKey,
    .C_GenerateKeyPair = C_GenerateKeyPair,
    .C_WrapKey = C_WrapKey,
    .C_UnwrapKey = C_UnwrapKey,
    .C_DeriveKey = C_DeriveKey,
    .C_SeedRandom = C_SeedRandom,
    .C_GenerateRandom = C_GenerateRandom,
    .C_GetFunctionStatus = C_GetFunctionStatus,
    .C_CancelFunction = C_CancelFunction,
    .C_WaitForSlotEvent = C_WaitForSlotEvent,
};

CK_RV C_GetFunctionList(CK_FUNCTION_LIST **list) {
    if (list == NULL) return CKR_ARGUMENTS_BAD;
    *list = &table;
    return CKR_OK;
}
