"""What is private in TensorFlow and Keras, by subject; nothing else in the package touches it.

Every use is feature-detected, or is the same in all of TensorFlow 2.16 to 2.21, where each was tried.
"""
