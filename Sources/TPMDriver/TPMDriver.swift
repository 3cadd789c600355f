public import KeychainModel
